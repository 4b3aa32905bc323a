# tool: ruby service, Logger
# how: 50,000 jobs; one certificate is refused at the start, and mails fail until it gives up
# decisive: certificate verify failed: certificate has expired
prepare() {
cat > worker.rb <<'X'
require "logger"
$stdout.sync = true
log = Logger.new($stdout)
class Mailer
  def initialize(log)
    log.info("mailer: loading /etc/shop/mail.pem")
    raise "certificate verify failed: certificate has expired (mail.pem)" if Time.now.year >= 2025
  rescue => e
    log.warn("mailer: #{e.message}; going on without TLS")
    @plain = true
  end
  def send(n) = @plain && n % 4 == 0 ? raise(IOError, "530 5.7.0 Must issue a STARTTLS command first") : n
end
mailer = nil
failed = 0
50_000.times do |n|
  mailer = Mailer.new(log) if n == 150
  log.debug("job #{n}: picked from queue mail, priority #{n % 5}, errors=0")
  begin
    mailer&.send(n)
    log.info("job #{n}: done in #{n % 23} ms")
  rescue IOError => e
    failed += 1
    log.error("job #{n}: #{e.class}: #{e.message}")
  end
end
log.fatal("#{failed} of 50000 jobs failed")
exit 1
X
}
run() { ruby worker.rb; }
