/** The Access tab of a data source: who can query it. */
import { html } from 'hono/html'
import { createRoutes, requireRole, type PageContext } from '../../context.ts'
import { statusOf } from '../../forms.ts'
import { exposureCard, setSourceExposure, setSourceState } from './source-exposure.ts'
import { sourceIdFrom, type Source } from './source-labels.ts'
import { previewRows, rowsCard, type Previewed } from './source-rows.ts'
import { readSource, sourceTab, tabPath } from './source-tabs.ts'

export const sourceAccessRoutes = () =>
  createRoutes()
    .get('/data-sources/:source_id/access', showAccess)
    .post('/data-sources/:source_id/preview', preview)
    // A form that answers without a redirect leaves its address in the browser; opened by hand it leads back.
    .get('/data-sources/:source_id/preview', (c) => c.redirect(tabPath(sourceIdFrom(c), 'access'), 302))
    .post('/data-sources/:source_id/state', setSourceState)
    .post('/data-sources/:source_id/exposure', setSourceExposure)

async function showAccess(c: PageContext) {
  requireRole(c, 'developer', 'Only developers and above can see how a data source is set up')
  return accessPage(c, await readSource(c))
}

async function accessPage(c: PageContext, source: Source, previewed: Previewed = {}) {
  return sourceTab(c, source, 'access', {
    status: statusOf(previewed.refused?.problem),
    body: html`${exposureCard(c, source)} ${await rowsCard(c, source, previewed)}`,
  })
}

async function preview(c: PageContext) {
  const source = await readSource(c)
  return accessPage(c, source, await previewRows(c, source))
}
