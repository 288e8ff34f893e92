import fc from 'fast-check'
import { expect, test } from 'vitest'
import vectors from '../../../test/vectors/ssrf-addresses.json' with { type: 'json' }
import { isPublicAddress } from './public-address.ts'

test.each(vectors.refuse)('$address is not public: $why', ({ address }) => {
  expect(isPublicAddress(address)).toBe(false)
})

test.each(vectors.allow)('%s is public', (address) => {
  expect(isPublicAddress(address)).toBe(true)
})

test.each([
  ['9.255.255.255', '10.0.0.0', '10.255.255.255', '11.0.0.0'],
  ['100.63.255.255', '100.64.0.0', '100.127.255.255', '100.128.0.0'],
  ['126.255.255.255', '127.0.0.0', '127.255.255.255', '128.0.0.0'],
  ['168.63.129.15', '168.63.129.16', '168.63.129.16', '168.63.129.17'],
  ['169.253.255.255', '169.254.0.0', '169.254.255.255', '169.255.0.0'],
  ['172.15.255.255', '172.16.0.0', '172.31.255.255', '172.32.0.0'],
  ['192.167.255.255', '192.168.0.0', '192.168.255.255', '192.169.0.0'],
  ['198.17.255.255', '198.18.0.0', '198.19.255.255', '198.20.0.0'],
  ['2001:db7:ffff::', '2001:db8::', '2001:db8:ffff::', '2001:db9::'],
  ['2001:ffff::', '2002::', '2002:ffff::', '2003::'],
])('the range ends where it ends: %s | %s to %s | %s', (below, first, last, above) => {
  expect([below, first, last, above].map(isPublicAddress)).toEqual([true, false, false, true])
})

test.each([
  '',
  'localhost',
  '127.1',
  '2130706433',
  '0x7f000001',
  '8.8.8.8:53',
  '8.8.8',
  '[2606:4700::1]',
  ' 8.8.8.8',
])('what is not an address is not a public one: %j', (text) => {
  expect(isPublicAddress(text)).toBe(false)
})

test('an IPv4 address in the clothes of IPv6 is public at most when it is so without them', () => {
  fc.assert(
    fc.property(fc.ipV4(), (address) => {
      const [a, b, c, d] = address.split('.').map(Number) as [number, number, number, number]
      const hex = `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
      expect(isPublicAddress(`::ffff:${address}`)).toBe(isPublicAddress(address))
      expect(isPublicAddress(`0:0:0:0:0:FFFF:${hex}`)).toBe(isPublicAddress(address))
      for (const inside of [
        `::${hex}`,
        `::ffff:0:${hex}`,
        `64:ff9b::${hex}`,
        `64:ff9b:1::${hex}`,
        `2002:${hex}::1`,
      ]) {
        expect(isPublicAddress(inside)).toBe(false)
      }
      expect(isPublicAddress(`2001:0:${hex}::`)).toBe(false)
    }),
  )
})
