/** The variables of a request, from the first middleware to the last. */
import type { Context } from 'hono'
import type { Principal } from '../contracts/operation.ts'

/** Made for whoever asks: hardly any work listens to it. */
export type Deadline = () => AbortSignal

export type HttpEnv = {
  Variables: {
    requestId: string
    /** Network address of the client, as the listener determined it. */
    address: string
    /** The name of the operation or page, for logs and metrics; never the path, which may hold a secret. */
    route: string
    principal: Principal | undefined
    /** Whose credential it showed, where that is no principal: of a page. */
    identity?: string
    /** Ends when nobody waits for the answer any more. */
    deadline?: Deadline
    /** Another service logs the same request in more detail. */
    isRelayed: boolean | undefined
    /** It was asked to wait until something happens: how long it took says nothing about the service. */
    isWaiting?: boolean
    /** Why a request failed: for the log line, never for the answer. */
    failure: unknown
  }
}

export type HttpContext = Context<HttpEnv>
