/** What every request of a service carries from the first middleware to the last. */
import type { Context } from 'hono'
import type { Caller } from '../contracts/operation.ts'

export type HttpEnv = {
  Variables: {
    requestId: string
    /** Network address as the listener established it. */
    address: string
    /** The name of the operation or page, for logs and metrics; never the path, which may hold a secret. */
    route: string
    caller: Caller | undefined
    /** A hop inside the house: another line tells the same story better. */
    isHop: boolean | undefined
    /** Why a request failed: for the log line, never for the answer. */
    failure: unknown
  }
}

export type HttpContext = Context<HttpEnv>
