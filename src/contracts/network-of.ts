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

/** The /56 and the /48 around a network: what providers give one customer. Around an IPv4 address there is only itself. */
export function networksAround(network: string): { readonly block: string; readonly site: string } {
  if (!network.endsWith('::/64')) return { block: network, site: network }
  const [a, b, c, d] = network.slice(0, -'::/64'.length).split(':')
  const upper = (Number.parseInt(d!, 16) & 0xff00).toString(16)
  return { block: `${a}:${b}:${c}:${upper}::/56`, site: `${a}:${b}:${c}::/48` }
}
