# tool: python -v
# how: each import is traced until one is circular
# decisive: ImportError: cannot import name 'Order' from partially initialized module 'order'
prepare() { printf 'import json, email.message, http.client\nimport order\n' > app.py; printf 'from cart import Cart\nclass Order: pass\n' > order.py; printf 'from order import Order\nclass Cart: pass\n' > cart.py; }
run() { python -v app.py; }
