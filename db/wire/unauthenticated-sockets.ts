/**
 * Sockets whose client has not logged in yet. Anybody can open them, so there is a limit to them, and reaching it must
 * lock nobody out: whoever has been silent the longest makes room. A client that means to log in says something
 * within milliseconds, and is the last to go.
 */
import { isIPv6, type Socket } from 'node:net'

export type UnauthenticatedSockets = {
  /** Destroys another one, if there are too many. */
  add(socket: Socket): void
  /** A whole message came from it, or went to it. */
  touch(socket: Socket): void
  /** It has logged in, or is gone. */
  delete(socket: Socket): void
  destroyAll(): void
}

export function limitUnauthenticated(limits: {
  readonly max: number
  readonly maxPerAddress: number
}): UnauthenticatedSockets {
  /** To the address of each; those that have been silent the longest come first. */
  const addresses = new Map<Socket, string>()

  function evict(address: string): void {
    for (const [socket, from] of addresses) {
      if (from !== address) continue
      addresses.delete(socket)
      socket.destroy()
      return
    }
  }

  return {
    add(socket) {
      const address = networkOf(socket.remoteAddress ?? '')
      const counts = countOf(addresses.values())
      if ((counts.get(address) ?? 0) >= limits.maxPerAddress) evict(address)
      else if (addresses.size >= limits.max) evict(mostFrequent(counts))
      addresses.set(socket, address)
    },
    touch(socket) {
      const address = addresses.get(socket)
      if (address === undefined) return
      addresses.delete(socket)
      addresses.set(socket, address)
    },
    delete: (socket) => void addresses.delete(socket),
    destroyAll() {
      for (const socket of addresses.keys()) socket.destroy()
      addresses.clear()
    },
  }
}

/** Of IPv6 the first 64 bits: one machine has all the rest. */
function networkOf(address: string): string {
  if (!isIPv6(address) || address.startsWith('::ffff:')) return address.replace(/^::ffff:/, '')
  const [head = ''] = address.split('::')
  const groups = head.split(':').filter(Boolean)
  return [...groups, '0', '0', '0', '0'].slice(0, 4).join(':')
}

function countOf(values: Iterable<string>): Map<string, number> {
  const counts = new Map<string, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return counts
}

/** The first of several with the same count. */
function mostFrequent(counts: ReadonlyMap<string, number>): string {
  const [[value] = ['']] = [...counts].toSorted(([, a], [, b]) => b - a)
  return value
}
