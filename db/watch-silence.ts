/**
 * A server that is frozen, or cut off without a word, keeps its connections and never answers. Where somebody waits and nothing
 * at all has come for a while, a new connection asks; if that is not answered either, the old ones are ended. Looks are
 * counted, not seconds: a process that is starved itself is as much more patient.
 */
import type { Socket } from 'node:net'

export type Silence = {
  readonly sockets: ReadonlySet<Socket>
  /** Whether something was asked and not answered yet. */
  readonly isWaiting: () => boolean
  /** Resolves when a new connection is answered; rejects, also by a time limit of its own, when not. */
  readonly ask: () => Promise<unknown>
  readonly lookMs?: number
}

const LOOK_MS = 500
/** Looks without a sign of life before somebody asks; doubled each time that there was an answer: then a statement takes long. */
const PATIENCE = { first: 4, most: 64 }

export function watchSilence({ sockets, isWaiting, ask, lookMs = LOOK_MS }: Silence) {
  let [silentLooks, patience, heard, isAsking] = [0, PATIENCE.first, 0, false]
  let timer: NodeJS.Timeout | undefined

  function look(): void {
    if (sockets.size === 0) return stop()
    let received = 0
    for (const { bytesRead } of sockets) received += bytesRead
    const isSilent = isWaiting() && received === heard
    heard = received
    silentLooks = isSilent ? silentLooks + 1 : 0
    if (!isSilent) patience = PATIENCE.first
    if (silentLooks >= patience && !isAsking) void askAnew()
  }

  async function askAnew(): Promise<void> {
    isAsking = true
    const silent = [...sockets].map((socket) => ({ socket, before: socket.bytesRead }))
    try {
      await ask()
      patience = Math.min(2 * patience, PATIENCE.most)
    } catch {
      for (const { socket, before } of silent) if (socket.bytesRead === before) socket.destroy()
    }
    isAsking = false
    silentLooks = 0
  }

  function stop(): void {
    clearInterval(timer)
    timer = undefined
  }

  return {
    /** Until there is no connection any more. */
    watch(): void {
      timer ??= setInterval(look, lookMs).unref()
    },
  }
}
