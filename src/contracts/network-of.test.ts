import { expect, test } from 'vitest'
import { networkOf } from './network-of.ts'

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
