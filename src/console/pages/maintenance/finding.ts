/** One finding: what is wrong, where, and the lines that show it. */
import { html } from 'hono/html'
import { showFinding, showRunEvidence } from '../../../contracts/maintenance.ts'
import { card, linkButton } from '../../../pages/parts.ts'
import { exactTime, pair } from '../../components.ts'
import { routeInput } from '../../act.ts'
import { createRoutes, sessionOf, type PageContext } from '../../context.ts'
import { page } from '../../layout.ts'
import { readApp, tabParents } from '../apps/app-tabs.ts'
import { shortId } from '../apps/deployment-labels.ts'
import { sourcePath } from '../apps/source-paths.ts'
import { visibleText } from '../apps/source-text.ts'
import { incidentPath } from '../incidents/incident-labels.ts'
import { evidenceText, EXCERPT_LINES } from './evidence-text.ts'
import {
  evidencePath,
  FINDING_LABELS,
  findingBadge,
  findingTitle,
  HIDDEN_TEXT,
  runPath,
  tabPathOf,
  unlessRefused,
  type Finding,
} from './maintenance-labels.ts'

export const findingRoutes = () =>
  createRoutes().get('/apps/:alias/maintenance/findings/:finding_id', showOne)

/** Calls per page: a finding cites few. */
const EVIDENCE_SHOWN = 12

async function showOne(c: PageContext) {
  const [app, one] = await Promise.all([
    readApp(c),
    sessionOf(c).call(showFinding, routeInput(c, showFinding)),
  ])
  return page(c, {
    title: findingTitle(one),
    parents: [
      ...tabParents(app, 'maintenance'),
      { label: 'Findings', href: `${tabPathOf(app.alias)}/findings` },
    ],
    lead: html`${findingBadge(one.state)} ${one.reopened_by === null ? FINDING_LABELS[one.state].about : 'It was fixed, and a push has undone the fix.'}`,
    actions: linkButton(incidentPath(app.alias, one.id), 'Incident'),
    body: html`${card('Summary', one.summary === null ? html`<p class="note">${HIDDEN_TEXT}</p>` : html`<p class="written">${visibleText(one.summary)}</p>`)}
      ${await evidenceCard(c, one)} ${detailsCard(one)}`,
  })
}

async function evidenceCard(c: PageContext, { app: alias, execution_id, evidence }: Finding) {
  const { call } = sessionOf(c)
  const read = await Promise.all(
    evidence
      .slice(0, EVIDENCE_SHOWN)
      .map((ref) => unlessRefused(call(showRunEvidence, { alias, execution_id, ref }))),
  )
  return card(
    'Evidence',
    html`${evidence.length === 0 && html`<p class="note">${HIDDEN_TEXT}</p>`}
      ${evidence.map((ref, at) => {
        const found = read[at]
        return html`<div class="evidence">
          <p><a class="long" href="${evidencePath(alias, execution_id, ref)}">${visibleText(ref)}</a></p>
          ${found && evidenceText(found, EXCERPT_LINES)}
        </div>`
      })}`,
    'The exact lines that the run read.',
  )
}

const detailsCard = (one: Finding) =>
  card(
    'Details',
    html`<dl class="pairs">
      ${pair('Kind', html`<code>${one.kind}</code>`)}
      ${one.location !== null && pair('Where', html`<code class="long">${visibleText(one.location)}</code>`)}
      ${pair('Found', one.times_found === 1 ? 'Once' : `${one.times_found} times`)}
      ${pair('First', exactTime(one.first_found_at))} ${pair('Last', exactTime(one.last_found_at))}
      ${one.reopened_by !== null && pair('Undone by', html`<a class="long" href="${sourcePath(one.app, { revision: one.reopened_by })}">${one.reopened_by}</a>`)}
      ${pair('Run', html`<a href="${runPath(one.app, one.execution_id)}">${shortId(one.execution_id)}</a>`)}
      ${pair('Fingerprint', html`<code class="long">${one.fingerprint}</code>`)}
      ${pair('ID', html`<code class="long">${one.id}</code>`)}
    </dl>`,
  )
