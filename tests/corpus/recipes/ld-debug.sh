# tool: python with LD_DEBUG=files,symbols
# how: the dynamic linker says all it does until an extension lacks a symbol
# decisive: undefined symbol: shop_checksum_v2
prepare() {
printf '#include <Python.h>\nextern int shop_checksum_v2(int);\nstatic struct PyModuleDef m = {PyModuleDef_HEAD_INIT, "fast", 0, -1, 0};\nPyMODINIT_FUNC PyInit_fast(void) { shop_checksum_v2(1); return PyModule_Create(&m); }\n' > fast.c
gcc -shared -fPIC -I/usr/include/python3.11 -o fast.so fast.c
printf 'import ssl, sqlite3, decimal, ctypes\nimport fast\n' > app.py
}
run() { LD_DEBUG=files,symbols python app.py; }
