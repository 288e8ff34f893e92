/** A handler of paths that is loaded at its first request. */
import type { NodeHandler } from '../../oauth/connector/connector-handler.ts'

/** A load that failed is tried again by the next request. */
export function lazyHandler(owns: RegExp, load: () => Promise<Pick<NodeHandler, 'handle'>>): NodeHandler {
  let loading: Promise<Pick<NodeHandler, 'handle'>> | undefined
  return {
    owns,
    async handle(incoming, outgoing) {
      loading ??= load().catch((error: unknown) => {
        loading = undefined
        throw error
      })
      await (await loading).handle(incoming, outgoing)
    },
  }
}
