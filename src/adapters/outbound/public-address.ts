/** Whether an address belongs to somebody out on the internet: not to this machine, its network or its cloud. */
import { BlockList, isIP } from 'node:net'

/** IANA's IPv4 special-purpose registry, and one address that only its cloud knows to be special. */
const SPECIAL_IPV4 = ranges('ipv4', [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['168.63.129.16', 32], // Azure's host agent: from inside it hands out credentials, yet its range is public.
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.31.196.0', 24],
  ['192.52.193.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['192.175.48.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
])

/** All that is handed out to be routed. Loopback, local, multicast and both NAT64 prefixes lie outside of it. */
const GLOBAL_IPV6 = ranges('ipv6', [['2000::', 3]])

const SPECIAL_IPV6 = ranges('ipv6', [
  ['2001::', 23], // Teredo, benchmarks, ORCHID
  ['2001:db8::', 32],
  ['2002::', 16], // 6to4: any IPv4 address, ours too, may stand in it
  ['2620:4f:8000::', 48],
  ['3fff::', 20],
])

const MAPPED_IPV4 = ranges('ipv6', [['::ffff:0:0', 96]])

export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !SPECIAL_IPV4.check(address, 'ipv4')
    case 6:
      // The kernel dials the IPv4 address inside a mapped one, so that is what must be public; a block list
      // reads mapped addresses by its IPv4 rules.
      if (MAPPED_IPV4.check(address, 'ipv6')) return !SPECIAL_IPV4.check(address, 'ipv6')
      return GLOBAL_IPV6.check(address, 'ipv6') && !SPECIAL_IPV6.check(address, 'ipv6')
    default:
      return false
  }
}

function ranges(family: 'ipv4' | 'ipv6', list: readonly (readonly [network: string, prefix: number])[]) {
  const blocks = new BlockList()
  for (const [network, prefix] of list) blocks.addSubnet(network, prefix, family)
  return blocks
}
