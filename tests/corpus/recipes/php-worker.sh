# tool: php
# how: a queue worker that leaks until the memory limit ends it, deprecations before
# decisive: Allowed memory size of 67108864 bytes exhausted
# decisive: worker.php on line 8
prepare() {
cat > worker.php <<'X'
<?php
class Job { public function __construct(public int $n) {} }
class Worker {
    private array $seen = [];
    public function handle(Job $job): void {
        $job->extra = "error";
        error_log("job {$job->n} handled, errors: 0, failed: 0");
        $this->seen[] = str_repeat("x", 2048) . $job->n;
    }
}
$worker = new Worker();
for ($n = 0; ; $n++) { if ($n % 10 == 0) echo "[" . $n . "] polling queue mail, no error\n"; $worker->handle(new Job($n)); if ($n % 4 == 0) trigger_error("Method Job::extra() is deprecated, error in future", E_USER_DEPRECATED); }
X
}
run() { php -d memory_limit=64M -d display_errors=stderr -d error_reporting=E_ALL -d log_errors=1 worker.php; }
