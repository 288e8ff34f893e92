import { expect, test } from 'vitest'
import { networkOf, networksAround } from './network-of.ts'

test.each([
  ['2001:db8:1:2::1', '2001:db8:1:2::/64'],
  ['2001:0DB8:0001:0002:ffff:ffff:ffff:ffff', '2001:db8:1:2::/64'],
  ['2001:db8:1:3::1', '2001:db8:1:3::/64'],
  ['2001:db8::5:6:7:8', '2001:db8:0:0::/64'],
  ['2001:db8::', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  // An IPv4 address written as IPv6 is still one address.
  ['::ffff:192.0.2.7', '::ffff:c000:207'],
  ['192.0.2.7', '192.0.2.7'],
  ['unknown', 'unknown'],
  ['', ''],
])('%s counts as %s', (address, network) => {
  expect(networkOf(address)).toBe(network)
})

test.each([
  ['2001:db8:1:2::/64', '2001:db8:1:0::/56', '2001:db8:1::/48'],
  ['2001:db8:1:12ff::/64', '2001:db8:1:1200::/56', '2001:db8:1::/48'],
  ['2001:db8:1:1300::/64', '2001:db8:1:1300::/56', '2001:db8:1::/48'],
  ['192.0.2.7', '192.0.2.7', '192.0.2.7'],
  ['::ffff:c000:207', '::ffff:c000:207', '::ffff:c000:207'],
  ['unknown', 'unknown', 'unknown'],
])('around %s are %s and %s', (network, block, site) => {
  expect(networksAround(network)).toEqual({ block, site })
})
