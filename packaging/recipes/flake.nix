# SPDX-License-Identifier: Apache-2.0
{
  description = "Run commands in a sandbox, under policies in SBPL";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";
  inputs.source = {
    url = "@URL@/@SOURCE@";
    flake = false;
  };

  outputs = { self, nixpkgs, source }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ];
      each = make: nixpkgs.lib.genAttrs systems (system: make nixpkgs.legacyPackages.${system});
    in {
      packages = each (pkgs: {
        # static libraries: the program contains those it uses
        default = pkgs.stdenv.mkDerivation {
          pname = "buckle";
          version = "@VERSION@";
          src = source;
          nativeBuildInputs = with pkgs; [ meson ninja pkg-config scdoc ];
          buildInputs = with pkgs.pkgsStatic; [ c-ares jansson libevent libyaml ncurses nghttp2 ] ++ [ pkgs.libplist ];
          # it is loaded by name, for rules about requests over TLS
          postFixup = pkgs.lib.optionalString pkgs.stdenv.isLinux
            "patchelf --add-rpath ${pkgs.lib.getLib pkgs.openssl}/lib $out/libexec/buckle/buckle-tls";
          mesonFlags = [ "-Dtests=false" "-Dstatic=no" "-Dman=enabled" "-Dnames=srt" ];
          meta = {
            description = "Run commands in a sandbox, under policies in SBPL";
            license = pkgs.lib.licenses.asl20;
            mainProgram = "buckle";
          };
        };
      });

      devShells = each (pkgs: {
        default = pkgs.mkShell { inputsFrom = [ self.packages.${pkgs.system}.default ]; };
      });
    };
}
