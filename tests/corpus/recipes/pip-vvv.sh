# tool: pip install -vvv
# how: every link of an index is listed, the wanted version is not there
# decisive: ERROR: No matching distribution found for numpy==1.99.7
prepare() { :; }
run() { pip install -vvv --target here 'setuptools==70.0.0' 'numpy==1.99.7'; }
