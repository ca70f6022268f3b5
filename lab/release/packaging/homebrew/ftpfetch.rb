class Ftpfetch < Formula
  desc "Retrieve what ftp URLs name, exactly as RFC 1738 says"
  homepage "https://example.com/ftpfetch"
  url "https://example.com/ftpfetch/releases/v@VERSION@/ftpfetch-@VERSION@-source.tar.gz"
  sha256 "@SHA256@"
  license "MIT"

  depends_on "go" => :build

  def install
    ldflags = "-s -w -X example.com/ftpfetch/cmd/internal/cli/config.release=v#{version}"
    system "go", "build", *std_go_args(ldflags:), "./cmd/ftpfetch"
    man1.install "docs/ftpfetch.1"
    generate_completions_from_executable(bin/"ftpfetch", shell_parameter_format: "--help=")
  end

  test do
    assert_match "ftpfetch v#{version}\n", shell_output("#{bin}/ftpfetch --version")
    assert_match "RETR", shell_output("#{bin}/ftpfetch --dry-run ftp://ftp.example.org/pub/file")
  end
end
