/** The form of one rule: whom it matches, what it gives, and which data sources. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { listAskableDataSources } from '../../../contracts/data-sources.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { ScopeName } from '../../../contracts/fields.ts'
import {
  RuleFields,
  type listIdentityProviderRules,
  type setIdentityProviderRules,
} from '../../../contracts/identity-provider.ts'
import { EXPOSED_MAX } from '../../../contracts/limits.ts'
import { SCOPE_NAMES, type Scope } from '../../../contracts/scopes.ts'
import { choice, type Content } from '../../../pages/parts.ts'
import { sourceChoice } from '../../../pages/source-choice.ts'
import { sessionOf, type PageContext } from '../../context.ts'
import { partOf, type Refused } from '../../fields.ts'
import { formCard, text, texts } from '../../forms.ts'
import { scopeBoxes } from './provider-labels.ts'
import { isOwner } from './provider-page.ts'

export type ShownRule = z.output<typeof listIdentityProviderRules.output>['rules'][number]
export type Rule = z.output<typeof setIdentityProviderRules.input>['rules'][number]

export const NEW_RULE: Rule = { claim: 'groups', value: '', scopes: ['data:read'], sources: null }

const RULE = partOf(RuleFields, ['claim', 'value'], {
  claim: { suggestions: ['groups', 'roles', 'department'] },
})

type RuleForm = {
  action: string
  now: Rule
  /** Data sources of the rules as they are, also those that cannot be asked at the moment. */
  known: NonNullable<ShownRule['sources']>
  edition: Content
  submit: string
  cancel: string
  refused: Refused | undefined
}

export async function ruleForm(c: PageContext, { now, known, edition, refused, ...rest }: RuleForm) {
  const { data_sources } = await sessionOf(c).call(listAskableDataSources, { limit: EXPOSED_MAX })
  const kept = known.filter(({ source_id }) => now.sources?.includes(source_id))
  const sources = new Map([
    ...data_sources.map(({ id, name }) => [id, name] as const),
    ...kept.map(({ source_id, name }) => [source_id, name] as const),
  ])
  const form = RULE.show({ now: { ...now, claim: now.claim ?? 'groups' }, refused })
  return formCard(c, {
    ...rest,
    of: form,
    fields: html`${edition}
    <fieldset>
      <legend>Who</legend>
      ${choice('radio', 'who', 'some', now.claim !== null, 'People with a claim')}
      <div class="if-chosen question-parts">
        ${form.all()}
      </div>
      ${choice('radio', 'who', 'everybody', now.claim === null, 'Everybody')}
    </fieldset>
    <fieldset class="access">
      <legend>Permissions</legend>
      ${choice('radio', 'access', 'scopes', now.scopes.length > 0, 'At most these', 'As far as their role and the client allow.')}
      <div class="scopes">${scopeBoxes('scopes', SCOPE_NAMES, (scope) => now.scopes.includes(scope), isOwner(c))}</div>
      ${choice('radio', 'access', 'none', now.scopes.length === 0, 'None: refuse them')}
    </fieldset>
    ${
      sources.size > 0 &&
      sourceChoice({
        legend: 'Data sources',
        fields: { which: 'which', source: 'sources' },
        all: 'All that they can query, including future ones',
        sources: [...sources].map(([id, name]) => ({ id, name, note: html`<code>${id}</code>` })),
        isLimited: now.sources !== null,
        isTicked: (id) => now.sources?.includes(id) ?? false,
      })
    }`,
  })
}

/** Nothing ticked must not become "refused", nor "all data sources": both are chosen in words. */
export function readRule(fields: FormData): { rule: Rule } | { rule: Rule; problem: ServiceError } {
  const isEverybody = text(fields, 'who') === 'everybody'
  const isRefusal = text(fields, 'access') === 'none'
  const isLimited = text(fields, 'which') === 'chosen'
  const rule: Rule = {
    claim: isEverybody ? null : text(fields, 'claim').trim(),
    value: isEverybody ? null : text(fields, 'value').trim(),
    scopes: isRefusal
      ? []
      : texts(fields, 'scopes').filter((scope): scope is Scope => ScopeName.safeParse(scope).success),
    sources: isLimited ? texts(fields, 'sources') : null,
  }
  const problems = [
    !isRefusal && rule.scopes.length === 0 && 'Select at least one permission, or refuse them',
    isLimited && rule.sources?.length === 0 && 'Select at least one data source',
    rule.claim === '' && 'claim: Enter the name of a claim',
    rule.value === '' && 'value: Enter a value',
  ].filter((one) => one !== false)
  return problems.length === 0
    ? { rule }
    : { rule, problem: new ServiceError('INVALID_REQUEST', 'The rule is not complete', { problems }) }
}
