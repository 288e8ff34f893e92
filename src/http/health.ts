/** `/healthz`: the process is alive. `/readyz`: the database is reachable and migrated. */
import type { EndingsPromise } from '../contracts/endings.ts'

export type Readiness = () => Promise<
  // `warnings`: what does not work although the process is ready; taking it out of service would mend nothing.
  // `work`: how this process learns of it, once that is known.
  // `endings`: what becomes of them when the database is lost.
  | {
      ready: true
      work?: 'listening' | 'polling' | undefined
      endings?: EndingsPromise | undefined
      warnings?: readonly string[]
    }
  | { ready: false; because: string }
>

export const isHealth = (path: string): boolean => path === '/healthz' || path === '/readyz'

export async function answerHealth(path: string, readiness: Readiness): Promise<Response | undefined> {
  if (!isHealth(path)) return undefined
  if (path === '/healthz') return Response.json({ status: 'alive' })
  const state = await readiness()
  return state.ready
    ? Response.json({
        status: 'ready',
        ...(state.work && { work: state.work }),
        ...(state.endings && { endings: state.endings }),
        ...(state.warnings?.length && { warnings: state.warnings }),
      })
    : Response.json({ status: 'not ready', because: state.because }, { status: 503 })
}
