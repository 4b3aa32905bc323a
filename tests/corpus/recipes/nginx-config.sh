# tool: nginx -t
# how: a configuration with an upstream that is named nowhere
# decisive: host not found in upstream "backend"
prepare() {
mkdir -p logs; cat > nginx.conf <<'X'
pid logs/nginx.pid;
error_log stderr;
events {}
http {
  access_log off;
  client_body_temp_path logs; proxy_temp_path logs; fastcgi_temp_path logs; uwsgi_temp_path logs; scgi_temp_path logs;
  upstream backends { server 127.0.0.1:9000; }
  server {
    listen 8089;
    location / { proxy_pass http://backend; }
  }
}
X
}
run() { nginx -t -p /srv/app/shop -c nginx.conf; }
