/**
 * Requests that a client sends before it has the answers to those before (pipelining, RFC 9112, 9.3.2). Node hands them all
 * over at once, and when the connection is closed it tells only the answer that is being sent, none behind it. So each
 * starts when its answer can be sent: a connection has one request under way, and the few behind it go with it.
 */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Behind the one under way. No client is known to send more; what waits here has its headers and part of its body in memory. */
const BEHIND_MAX = 8
/** After the one that was refused. They are never answered; whoever still goes on is not listening. */
const IGNORED_MAX = 100

type Pipeline = { waiting: number; ignored: number; isRefused: boolean }

export function pipelinedRequests(): (
  socket: Socket,
  outgoing: ServerResponse,
  /** One of them is called, or neither. The connection must be closed after a refusal. */
  { start, refuse }: { start: () => void; refuse: () => void },
) => void {
  const pipelines = new WeakMap<Socket, Pipeline>()
  return (socket, outgoing, { start, refuse }) => {
    // Node gives an answer its socket when those before it are sent.
    if (outgoing.socket) return start()
    const pipeline = pipelines.get(socket) ?? { waiting: 0, ignored: 0, isRefused: false }
    pipelines.set(socket, pipeline)
    if (pipeline.isRefused) {
      if (++pipeline.ignored > IGNORED_MAX) socket.destroy()
      return
    }
    if (pipeline.waiting >= BEHIND_MAX) {
      pipeline.isRefused = true
      return refuse()
    }
    pipeline.waiting += 1
    outgoing.once('socket', () => {
      pipeline.waiting -= 1
      // An answer that could not be sent any more counts as sent, too.
      if (!socket.destroyed) start()
    })
  }
}
