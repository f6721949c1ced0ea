#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The network filtered by name where the kernel cannot hand packets over as they are (no tproxy) and
redirects them instead. Prints TAP.

The guarantees are the same, except that datagrams are refused.
"""

import importlib
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import netbox
import tap

net_tests, ports_tests, attack_tests = (importlib.import_module(name)
                                        for name in ("e2e-net", "e2e-net-ports", "e2e-attacks"))

PRETEND = "nft_tproxy=0"


def test_reported(net, who):
    done = net.boxed(who, "true", ["--dry-run"])
    tap.ok("datagrams are refused (no nft tproxy)" in " ".join(done.out.split()),
           f"{who.name}: the plan says what is weaker", done)


def test_datagrams(net, who):
    net_tests.echo_servers(net)
    before = len(net.echo)
    done = net.boxed(who, ports_tests.connect("allowed.test", 9999, "socket.SOCK_DGRAM"))
    tap.ok(done.out == "EPERM\n" and len(net.echo) == before, f"{who.name}: datagrams are refused at once", done)


TESTS = (test_reported, test_datagrams, net_tests.test_clients, net_tests.test_families,
         net_tests.test_addresses, net_tests.test_special, net_tests.test_own_servers,
         net_tests.test_local_ports, net_tests.test_publish, net_tests.test_records,
         attack_tests.test_fronting, attack_tests.test_connect_to_loopback, attack_tests.test_raw_addresses,
         attack_tests.test_rebinding, attack_tests.test_names, attack_tests.test_other_roads)

if __name__ == "__main__":
    os.environ["BUCKLE_PRETEND"] = PRETEND
    sys.exit(netbox.main(TESTS))
