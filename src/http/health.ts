/** `/healthz`: the process is alive. `/readyz`: the database is reachable and migrated. */
export type Readiness = () => Promise<
  // `warnings`: what does not work although the process is ready; taking it out of service would mend nothing.
  { ready: true; warnings?: readonly string[] } | { ready: false; because: string }
>

export async function answerHealth(path: string, readiness: Readiness): Promise<Response | undefined> {
  if (path === '/healthz') return Response.json({ status: 'alive' })
  if (path !== '/readyz') return undefined
  const state = await readiness()
  return state.ready
    ? Response.json({ status: 'ready', ...(state.warnings?.length && { warnings: state.warnings }) })
    : Response.json({ status: 'not ready', because: state.because }, { status: 503 })
}
