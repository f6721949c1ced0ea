# SPDX-License-Identifier: Apache-2.0
class Buckle < Formula
  desc "Run commands in a sandbox, under policies in SBPL"
  homepage "@URL@"
  url "@URL@/@SOURCE@"
  version "@VERSION@"
  sha256 "@SHA256@"
  license "Apache-2.0"

  depends_on "meson" => :build
  depends_on "ninja" => :build
  depends_on "pkgconf" => :build
  depends_on "scdoc" => :build
  depends_on "c-ares"
  depends_on "jansson"
  depends_on "libevent"
  depends_on "libnghttp2"
  depends_on "libplist"
  depends_on "libyaml"
  depends_on "ncurses"

  def install
    # macOS has its own sandbox-exec, and other formulae have cage.
    system "meson", "setup", "build", "-Dtests=false", "-Dman=enabled", "-Dnames=srt", *std_meson_args
    system "meson", "compile", "-C", "build"
    system "meson", "install", "-C", "build"
  end

  test do
    assert_match "allow", shell_output("#{bin}/buckle eval -p '(version 1) (allow default)' file-read-data /")
  end
end
