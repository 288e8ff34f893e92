/** The Access tab of a data source: who can query it. */
import { createRoutes, requireRole, type PageContext } from '../../context.ts'
import { exposureCard, setSourceExposure, setSourceState } from './source-exposure.ts'
import { readSource, sourceTab } from './source-tabs.ts'

export const sourceAccessRoutes = () =>
  createRoutes()
    .get('/data-sources/:id/access', showAccess)
    .post('/data-sources/:id/state', setSourceState)
    .post('/data-sources/:id/exposure', setSourceExposure)

async function showAccess(c: PageContext) {
  requireRole(c, 'developer', 'Only developers and above can see how a data source is set up')
  const source = await readSource(c)
  return sourceTab(c, source, 'access', { body: exposureCard(c, source) })
}
