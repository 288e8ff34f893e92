/** What a network address counts as. RFC 6177: whoever has IPv6 has at least a /64 of addresses to choose from. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address
  // The URL parser accepts every spelling and writes one.
  const host = URL.parse(`http://[${address.split('%', 1)[0]}]`)?.hostname.slice(1, -1)
  if (host === undefined || host.startsWith('::ffff:')) return host ?? address
  const [before = [], after = []] = host.split('::').map((part) => part.split(':').filter(Boolean))
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0')
  return `${[...before, ...zeros, ...after].slice(0, 4).join(':')}::/64`
}
