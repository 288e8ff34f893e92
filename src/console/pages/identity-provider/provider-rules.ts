/** Identity provider > Rules: who gets what, in order, and a preview. */
import { createHash } from 'node:crypto'
import { html } from 'hono/html'
import { ServiceError } from '../../../contracts/errors.ts'
import {
  listIdentityProviderClients,
  listIdentityProviderRules,
  setIdentityProviderRules,
} from '../../../contracts/identity-provider.ts'
import { IDENTITY_PROVIDER as LIMITS, PAGE_MAX } from '../../../contracts/limits.ts'
import { linkButton, notice } from '../../../pages/parts.ts'
import { emptyState, listCard } from '../../components.ts'
import { createRoutes, sessionOf, type PageContext } from '../../context.ts'
import { innerProblem, refuse, type Refused } from '../../fields.ts'
import { actAndReturn, redirectWithMessage } from '../../flash.ts'
import { attempt, confirmDialog, form, statusOf, text } from '../../forms.ts'
import { page } from '../../layout.ts'
import { IDENTITY_PROVIDER } from '../../navigation.ts'
import { isSensitive, scopesSummary } from './provider-labels.ts'
import { isOwner, mayChange, notOnNotice, providerPage, requireProvider } from './provider-page.ts'
import { NEW_RULE, readRule, ruleForm, type Rule, type ShownRule } from './rule-form.ts'
import { previewCard, readPreview, type Previewed } from './rule-preview.ts'

const PATH = `${IDENTITY_PROVIDER}/rules`

export const providerRuleRoutes = () =>
  createRoutes()
    .get('/identity-provider/rules', (c) => showRules(c))
    .get('/identity-provider/rules/new', (c) => showRuleForm(c, NEW_RULE))
    .post('/identity-provider/rules/new', saveRule)
    .get('/identity-provider/rules/:position{[0-9]{1,3}}', showRule)
    .post('/identity-provider/rules/:position{[0-9]{1,3}}', saveRule)
    .post('/identity-provider/rules/:position{[0-9]{1,3}}/move', moveRule)
    .post('/identity-provider/rules/:position{[0-9]{1,3}}/remove', removeRule)
    .post('/identity-provider/rules/preview', preview)

async function readRules(c: PageContext): Promise<ShownRule[]> {
  const { rules } = await sessionOf(c).call(listIdentityProviderRules, { limit: PAGE_MAX })
  return rules
}

async function showRules(c: PageContext, previewed?: Previewed) {
  const provider = await requireProvider(c)
  const [rules, { clients }] = await Promise.all([
    readRules(c),
    sessionOf(c).call(listIdentityProviderClients, { limit: PAGE_MAX }),
  ])
  const isOpen = mayEdit(c, rules)
  return providerPage(c, 'Rules', {
    lead: 'What people get, by the claims of their assertion. The first rule that matches decides.',
    actions: isOpen && rules.length < LIMITS.rules && linkButton(`${PATH}/new`, 'Add a rule'),
    status: statusOf(previewed && 'problem' in previewed ? previewed.problem : undefined),
    body: html`${notOnNotice(provider)}
    ${mayChange(c) && !isOpen && notice('info', html`<p>Only an owner can change these rules: one of them gives permissions that only owners give.</p>`)}
    ${listCard(c, {
      caption: 'Rules, in their order',
      columns: ['Who', 'Permissions', 'Data sources', '(Actions)'],
      rows: rules.map((rule) => ruleRow(c, rules, rule, isOpen)),
      empty: emptyState(
        'No rules yet',
        'Without rules, everybody gets the default permissions, as far as their role and the client allow.',
        isOpen && linkButton(`${PATH}/new`, 'Add a rule'),
      ),
      after:
        rules.length > 0 &&
        html`<p class="note">Whom no rule matches gets the <a href="${IDENTITY_PROVIDER}">default permissions</a>. Nobody gets more than their role and the client allow. Each change disconnects the agents; they connect again by themselves.</p>`,
    })}
    ${await previewCard(c, clients, previewed)}`,
  })
}

/** Who stands above such a rule decides whom it gives them to, so the whole list is the owners'. */
const mayEdit = (c: PageContext, rules: readonly ShownRule[]): boolean =>
  mayChange(c) && (isOwner(c) || !rules.some(({ scopes }) => scopes.some(isSensitive)))

const ruleWords = ({ claim, value }: { claim: string | null; value: string | null }): string =>
  claim === null ? 'Everybody' : `${claim} is or contains ${value}`

function ruleRow(c: PageContext, rules: readonly ShownRule[], rule: ShownRule, isOpen: boolean) {
  const { position, claim, value, scopes, sources } = rule
  const who =
    claim === null
      ? html`Everybody`
      : html`<code>${claim}</code> <span class="note">is or contains</span> <code>${value}</code>`
  return [
    html`<span title="${ruleWords(rule)}">${position}. ${isOpen ? html`<a href="${PATH}/${position}">${who}</a>` : who}</span>`,
    scopesSummary(scopes),
    scopes.length === 0
      ? html`<span class="note">None</span>`
      : sources === null
        ? html`<span class="note">All they can query</span>`
        : sources.length === 0
          ? 'None'
          : html`<span title="${sources.map(({ name }) => name).join(', ')}">${sources.map(({ name }) => name).join(', ')}</span>`,
    html`<div class="row-actions">${isOpen && ruleActions(c, rules, rule)}</div>`,
  ]
}

const ruleActions = (c: PageContext, rules: readonly ShownRule[], { position, ...rule }: ShownRule) =>
  html`${position > 1 && moveForm(c, rules, position, 'up')} ${position < rules.length && moveForm(c, rules, position, 'down')}
  ${confirmDialog(c, {
    label: 'Remove',
    name: `Remove rule ${position}`,
    title: `Remove rule ${position}?`,
    action: `${PATH}/${position}/remove`,
    text: html`<span class="long">${ruleWords(rule)}. People it matched fall through to the next rule, or to the default permissions.</span>`,
    fields: editionField(rules),
    submit: 'Remove rule',
  })}`

const moveForm = (c: PageContext, rules: readonly ShownRule[], position: number, to: 'up' | 'down') =>
  form(
    c,
    `${PATH}/${position}/move`,
    html`${editionField(rules)}<input type="hidden" name="to" value="${to}" />
      <button type="submit" class="button button-quiet button-small" aria-label="Move rule ${position} ${to}">${to === 'up' ? '↑' : '↓'}</button>`,
    '',
  )

/** The list is saved as a whole: a form about another one than the current is refused, so that nobody undoes a colleague's change. */
const editionField = (rules: readonly ShownRule[]) =>
  html`<input type="hidden" name="edition" value="${editionOf(rules)}" />`

const editionOf = (rules: readonly ShownRule[]): string =>
  createHash('sha256').update(JSON.stringify(rules)).digest('base64url').slice(0, 16)

async function currentRules(c: PageContext): Promise<Rule[]> {
  const rules = await readRules(c)
  if (editionOf(rules) !== text(c.get('form'), 'edition')) {
    throw new ServiceError('CONFLICT', 'The rules have changed in the meantime', {
      hint: 'Look at them, and try again.',
    })
  }
  return rules.map(({ claim, value, scopes, sources }) => ({
    claim,
    value,
    scopes,
    sources: sources?.map(({ source_id }) => source_id) ?? null,
  }))
}

const positionOf = (c: PageContext): number => Number(c.req.param('position'))

async function showRule(c: PageContext) {
  await requireProvider(c)
  const rule = (await readRules(c)).find(({ position }) => position === positionOf(c))
  if (!rule) throw new ServiceError('NOT_FOUND')
  return showRuleForm(c, { ...rule, sources: rule.sources?.map(({ source_id }) => source_id) ?? null })
}

async function showRuleForm(c: PageContext, now: Rule, refused?: Refused) {
  await requireProvider(c)
  const rules = await readRules(c)
  const isNew = c.req.param('position') === undefined
  return page(c, {
    title: isNew ? 'New rule' : `Rule ${positionOf(c)}`,
    lead: isNew ? 'It is added below the others. You can move it up then.' : undefined,
    status: statusOf(refused?.problem),
    body: mayEdit(c, rules)
      ? await ruleForm(c, {
          action: isNew ? `${PATH}/new` : `${PATH}/${positionOf(c)}`,
          now,
          known: rules.flatMap(({ sources }) => sources ?? []),
          edition: editionField(rules),
          submit: isNew ? 'Add rule' : 'Save rule',
          cancel: PATH,
          refused,
        })
      : notice('info', html`<p>Only an owner can change these rules.</p>`),
  })
}

async function saveRule(c: PageContext) {
  const isNew = c.req.param('position') === undefined
  const read = readRule(c.get('form'))
  if ('problem' in read) return showRuleForm(c, read.rule, refuse(c, read.problem))
  const result = await attempt(async () => {
    const rules = await currentRules(c)
    const next = isNew ? [...rules, read.rule] : rules.with(checkedIndex(c, rules), read.rule)
    return sessionOf(c).call(setIdentityProviderRules, { rules: next })
  })
  if ('problem' in result) return showRuleForm(c, read.rule, refuse(c, inRule(result.problem)))
  return redirectWithMessage(c, PATH, isNew ? 'Rule added.' : 'Rule saved.')
}

/** Problems of a list are named by their place in it, `rules.3.value`; the form is about one rule. */
const inRule = (problem: ServiceError): ServiceError => innerProblem(problem, /^`?rules\.\d+\.(?=[a-z])/)

function checkedIndex(c: PageContext, rules: readonly Rule[]): number {
  const index = positionOf(c) - 1
  if (index < 0 || index >= rules.length) throw new ServiceError('NOT_FOUND')
  return index
}

const change = (c: PageContext, done: string, edit: (rules: Rule[], index: number) => Rule[]) =>
  actAndReturn(c, PATH, done, async () => {
    const rules = await currentRules(c)
    await sessionOf(c).call(setIdentityProviderRules, { rules: edit(rules, checkedIndex(c, rules)) })
  })

const moveRule = (c: PageContext) =>
  change(c, 'Rule moved.', (rules, index) => {
    const to = Math.min(Math.max(index + (text(c.get('form'), 'to') === 'up' ? -1 : 1), 0), rules.length - 1)
    return rules.toSpliced(index, 1).toSpliced(to, 0, rules[index]!)
  })

const removeRule = (c: PageContext) => change(c, 'Rule removed.', (rules, index) => rules.toSpliced(index, 1))

const preview = async (c: PageContext) => showRules(c, await readPreview(c))
