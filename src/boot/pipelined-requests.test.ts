import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { pipelinedRequests } from './pipelined-requests.ts'

/** Node says that the answer was sent, and gives the next one the socket that is gone. How it answers the others is tested with the listener. */
test('a connection that is gone right after an answer starts nothing that was behind it', async () => {
  const started: string[] = []
  const inOrder = pipelinedRequests()
  const server = createServer(({ url, socket }, outgoing) => {
    inOrder(socket, outgoing, {
      start() {
        started.push(url!)
        outgoing.end('whole')
        socket.destroy()
      },
      refuse() {},
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {})
  socket.write(['/1', '/2', '/3'].map((path) => `GET ${path} HTTP/1.1\r\nHost: here\r\n\r\n`).join(''))
  await once(socket.resume(), 'close')
  await new Promise((closed) => server.close(closed))
  expect(started).toEqual(['/1'])
})
