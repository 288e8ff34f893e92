/** A small HTTP proxy on loopback that knows CONNECT alone: it finds names by a table, and remembers what was asked. */
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'

export type ConnectProxy = {
  readonly url: string
  /** Targets as asked, `host:port`, in order. */
  readonly asked: readonly string[]
  /** The Proxy-Authorization of each. */
  readonly authorizations: readonly (string | undefined)[]
  /** Whatever passed from the client to targets, as bytes: all of it must be TLS. */
  readonly sent: () => Buffer
  /** Until told otherwise: `silence` never answers, a number refuses with that status. */
  misbehave(how: 'silence' | number | undefined): void
  readonly close: () => void
}

/** `ports` says at which port of this machine a name listens; any other target is refused with 502. */
export async function openConnectProxy(ports: Record<string, number> = {}): Promise<ConnectProxy> {
  const asked: string[] = []
  const authorizations: (string | undefined)[] = []
  const sent: Buffer[] = []
  const open = new Set<Socket>()
  let misbehavior: 'silence' | number | undefined

  function tunnel(request: IncomingMessage, client: Socket): void {
    const target = request.url ?? ''
    asked.push(target)
    authorizations.push(request.headers['proxy-authorization'])
    open.add(client)
    client.on('error', () => client.destroy())
    if (misbehavior === 'silence') return
    const port = ports[target.replace(/:\d+$/, '')]
    const refusal = misbehavior ?? (port === undefined ? 502 : undefined)
    if (refusal !== undefined) {
      client.end(`HTTP/1.1 ${refusal} No\r\ncontent-length: 0\r\n\r\n`)
      return
    }
    const server = connect(port!, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      client.on('data', (chunk: Buffer) => sent.push(chunk))
      client.pipe(server).pipe(client)
    })
    open.add(server)
    server.on('error', () => client.destroy())
  }

  const server = createServer((_request, response) => void response.writeHead(405).end())
  server.on('connect', (request, socket) => tunnel(request, socket as Socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    authorizations,
    sent: () => Buffer.concat(sent),
    misbehave: (how) => void (misbehavior = how),
    close() {
      for (const socket of open) socket.destroy()
      server.closeAllConnections()
      server.close()
    },
  }
}
