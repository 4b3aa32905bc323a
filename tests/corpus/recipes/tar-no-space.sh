# tool: tar -xvf
# how: 9,000 files are unpacked onto a disk that is full after a third, tar goes on
# decisive: No space left on device
prepare() {
python3 - <<'X'
import io, tarfile
with tarfile.open("photos.tar", "w") as tar:
    for n in range(9000):
        info = tarfile.TarInfo(f"photos/2024/{n % 12:02}/error-free/img_{n:05}.jpg"); info.size = 3000
        tar.addfile(info, io.BytesIO(b"x" * 3000))
X
}
run() { tar -xvf photos.tar -C /srv/app/small 2>&1; code=$?; rm -rf /srv/app/small/photos; return $code; }
