/** Organization settings > Maintenance agent: on or off, its model and schedule, what it uses, and its apps. */
import { html } from 'hono/html'
import type * as z from 'zod'
import {
  showMaintenanceSettings,
  showMaintenanceUsage,
  listAppMaintenance,
  updateMaintenanceSettings,
} from '../../../contracts/maintenance.ts'
import { RULES_MODEL, RUN_REASONS } from '../../../contracts/outcomes.ts'
import { PROTECTED_CLASS_NAMES, PROTECTED_CLASSES } from '../../../contracts/protected-classes.ts'
import { button, card, notice } from '../../../pages/parts.ts'
import { badge, emptyState, exactTime, listCard, pair, time } from '../../components.ts'
import { createRoutes, hasRole, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { act, submit } from '../../act.ts'
import { formOf, type Refused } from '../../fields.ts'
import { confirmDialog, form, formCard, statusOf, text } from '../../forms.ts'
import { listOf } from '../../list-of.ts'
import { page } from '../../layout.ts'
import {
  cronPhrase,
  MAINTENANCE_PATH,
  mayMaintain,
  runBadge,
  runPath,
  tabPathOf,
  unlessOff,
} from './maintenance-labels.ts'
import { usageChart, usageFigures, type Usage } from './usage-chart.ts'

export const organizationMaintenanceRoutes = () =>
  createRoutes()
    .get('/maintenance', (c) => showSettings(c))
    .post('/maintenance', save)
    .post('/maintenance/switch', turn)
    .post('/maintenance/decisions', setMcpDecisions)

const APPS = listOf(listAppMaintenance)

type Settings = z.output<typeof showMaintenanceSettings.output>
type Apps = z.output<typeof listAppMaintenance.output>

async function showSettings(c: PageContext, refused?: Refused) {
  const session = sessionOf(c)
  const { id: org_id } = organizationOf(c)
  const [settings, usage, apps] = await Promise.all([
    session.call(showMaintenanceSettings, { org_id }),
    session.call(showMaintenanceUsage, { org_id }),
    unlessOff(APPS.call(c, { org_id })),
  ])
  const mayChange = mayMaintain(session)
  return page(c, {
    title: 'Maintenance agent',
    lead: html`${settings.enabled ? badge('On', 'on') : badge('Off', 'off')} Reads apps at night, and records findings or
      proposes a change. A person decides.`,
    actions: mayChange && settings.enabled && turnOff(c),
    status: statusOf(refused?.problem),
    body: html`${mayChange && settings.enabled && settings.you_decide_from !== null && notice('info', html`<p>You changed these settings. What runs propose until ${exactTime(settings.you_decide_from)}, another owner or admin approves.</p>`)}
      ${!settings.enabled && !mayChange && emptyState('Off', 'An owner or admin can turn it on.')}
      ${settings.enabled && html`${scheduleLine(settings)} ${apps && appList(c, apps)}`}
      ${(settings.enabled || usage.runs > 0) && usageParts(usage)}
      ${mayChange ? settingsForm(c, settings, refused) : settingsFacts(settings)}
      ${decisionsCard(c, settings)}`,
  })
}

/** When it runs, in words and as times. */
const scheduleLine = ({ nightly_cron, timezone, next_runs }: Settings) =>
  html`<p class="schedule">${cronPhrase(nightly_cron)} (${timezone}).
    ${next_runs.length > 0 && html`Next: ${next_runs.map((at, of) => html`${of > 0 && ', '}${exactTime(at)}`)}.`}</p>`

const usageParts = (usage: Usage) =>
  html`${usageFigures(usage)}
    ${card('Tokens', usageChart(usage), 'By day in UTC, for runs and judge checks together.')}`

const turnOff = (c: PageContext) =>
  confirmDialog(c, {
    id: 'turn-off',
    label: 'Turn off',
    title: 'Turn off the maintenance agent?',
    action: `${MAINTENANCE_PATH}/switch`,
    text: 'Runs that are under way are stopped, and it is turned off for every app. When it is on again, each app has to be turned on anew.',
    submit: 'Turn off',
  })

const SETTINGS = formOf(
  updateMaintenanceSettings,
  [
    'model',
    'nightly_cron',
    'timezone',
    'cooldown_hours',
    'token_allowance',
    'protected_paths',
    'allowed_classes',
  ],
  { nightly_cron: { required: true }, timezone: { required: true } },
)

const settingsForm = (c: PageContext, settings: Settings, refused: Refused | undefined) =>
  formCard(c, {
    of: SETTINGS.show({
      now: { ...settings, model: settings.model ?? settings.models[0]?.name },
      refused,
      with: { model: { options: modelOptions(settings) }, allowed_classes: { options: CLASS_OPTIONS } },
    }),
    title: 'Settings',
    lead: settings.enabled
      ? `On for ${settings.apps_enabled === 1 ? 'one app' : `${settings.apps_enabled} apps`}.`
      : 'Turning it on turns on no app: choose those afterwards.',
    action: MAINTENANCE_PATH,
    submit: settings.enabled ? 'Save settings' : 'Turn on',
  })

const CLASS_OPTIONS = PROTECTED_CLASS_NAMES.map((value) => ({ value, label: PROTECTED_CLASSES[value] }))

/** A model that is no longer configured stays selected, so that nothing changes by saving something else. */
const modelOptions = ({ models, model }: Settings) => [
  ...models.map(({ name, proposes }) => ({
    value: name,
    label:
      name === RULES_MODEL
        ? `${name} (built in, no language model)`
        : proposes
          ? name
          : `${name} (findings only)`,
  })),
  ...(model !== null && !models.some(({ name }) => name === model)
    ? [{ value: model, label: `${model} (not configured any more)` }]
    : []),
]

const settingsFacts = (settings: Settings) =>
  card(
    'Settings',
    html`<dl class="pairs">
      ${pair('Model', settings.model === null ? 'None' : html`<code>${settings.model}</code>`)}
      ${pair('Schedule', html`${cronPhrase(settings.nightly_cron)} ${settings.timezone}`)}
      ${settings.next_run_at !== null && pair('Next run', time(settings.next_run_at))}
      ${pair('Cool-down', `${settings.cooldown_hours} hours`)}
      ${pair('Tokens a day', settings.token_allowance.toLocaleString('en'))}
      ${pair('Open to proposals', settings.allowed_classes.length === 0 ? 'No protected class' : settings.allowed_classes.map((name) => html`${PROTECTED_CLASSES[name]}<br />`))}
      ${pair('Protected paths', settings.protected_paths.length === 0 ? 'Those that are always protected' : settings.protected_paths.map((glob) => html`<code>${glob}</code><br />`))}
    </dl>`,
    'Owners and admins can change these settings.',
  )

const appList = (c: PageContext, listed: Apps) =>
  listCard(c, {
    ...APPS.parts(c, listed),
    title: 'Apps',
    caption: 'Apps and their maintenance',
    columns: ['App', 'Agent', 'Latest run', 'Open findings', 'To review'],
    rows: listed.apps.map(({ app, name, enabled, latest_run: run, open_findings, open_proposals }) => [
      html`<a class="subject" href="${tabPathOf(app)}">${name}</a>`,
      enabled ? badge('On', 'on') : badge('Off', 'off'),
      run === null
        ? html`<span class="note">None</span>`
        : html`<a href="${runPath(app, run.execution_id)}">${runBadge(run)}</a> ${run.reason && html`<span class="note">${RUN_REASONS[run.reason]}</span>`} ${time(run.created_at)}`,
      open_findings,
      open_proposals,
    ]),
    empty: emptyState('No apps yet', html`<a href="/console/apps">Create an app</a>`),
  })

/** decisions, 14: an owner's choice, here and nowhere else. */
function decisionsCard(c: PageContext, { mcp_decisions, model }: Settings) {
  if (model === null || !hasRole(sessionOf(c), 'owner') || !mayMaintain(sessionOf(c))) return null
  const isDirect = mcp_decisions === 'direct'
  return card(
    'Decisions over MCP',
    html`<p>${isDirect ? 'An agent with the scope to decide may approve and deny for the person who connected it.' : 'An agent that wants to decide gets a link to the page of the proposal, where a person decides.'}</p>
      ${isDirect ? form(c, `${MAINTENANCE_PATH}/decisions`, html`${chosen('link')}${button('Require a person')}`) : letAgentsDecide(c)}`,
    isDirect ? 'Direct.' : 'By link to the console, where a signed-in person decides.',
  )
}

const chosen = (value: Settings['mcp_decisions']) =>
  html`<input type="hidden" name="mcp_decisions" value="${value}" />`

const letAgentsDecide = (c: PageContext) =>
  html`<div class="actions">${confirmDialog(c, {
    label: 'Let agents decide',
    title: 'Let agents decide?',
    action: `${MAINTENANCE_PATH}/decisions`,
    text: 'An agent with the scope to decide may then deploy changes to your apps without anybody looking at them.',
    fields: chosen('direct'),
  })}</div>`

const save = submit(SETTINGS, {
  input: () => ({ enabled: true }),
  again: showSettings,
  done: () => [MAINTENANCE_PATH, 'Saved. The maintenance agent is on.'],
})

const turn = act(updateMaintenanceSettings, {
  input: () => ({ enabled: false }),
  back: MAINTENANCE_PATH,
  done: 'Turned off for every app.',
})

const setMcpDecisions = act(updateMaintenanceSettings, {
  input: (sent) => ({
    mcp_decisions: text(sent, 'mcp_decisions') === 'direct' ? ('direct' as const) : ('link' as const),
  }),
  back: MAINTENANCE_PATH,
  done: 'Saved.',
})
