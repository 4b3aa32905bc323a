# tool: pip install
# how: two requirements that cannot be met together
# decisive: because these package versions have conflicting dependencies.
# decisive: flask 3.0.0 depends on Werkzeug>=3.0.0
prepare() { printf 'requests==2.31.0\nflask==3.0.0\nwerkzeug==2.0.0\nrich==13.7.0\n' > requirements.txt; }
run() { pip install --target here -r requirements.txt; }
