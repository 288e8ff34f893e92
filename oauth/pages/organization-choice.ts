/** What pages that ask for an approval have in common: the facts about who asks, and the organization it is for. */
import { html } from 'hono/html'
import type { Content } from '../../src/pages/skeleton.ts'

type Choosable = {
  readonly id: string
  readonly name: string
  readonly isOpen?: boolean
  readonly reason?: string | null
  /** What it is about, in a line. */
  readonly note?: string | undefined
}

export const facts = (rows: readonly (readonly [string, Content] | false)[]) =>
  html`<dl class="pairs">
    ${rows.map((row) => row && html`<div><dt>${row[0]}</dt><dd>${row[1]}</dd></div>`)}
  </dl>`

/** `beneath` is placed right after its organization, so that CSS alone can show that of the selected one. */
export const organizationChoice = <Organization extends Choosable>(
  organizations: readonly Organization[],
  chosenId: string | null,
  beneath: (organization: Organization) => Content = () => false,
) => {
  const chosen = preselected(organizations, chosenId)
  return html`<fieldset>
    <legend>Organization</legend>
    <div class="choices choices-long">
      ${chosenFirst(organizations, chosen).map(
        (organization) =>
          html`<label class="choice">
            <input type="radio" name="organization" value="${organization.id}" required ${organization === chosen && html`checked`} ${organization.isOpen === false && html`disabled`} />
            <span class="choice-text"><span>${organization.name}</span>${(organization.reason ?? organization.note) && html`<span class="note">${organization.reason ?? organization.note}</span>`}</span>
          </label>
          ${beneath(organization)}`,
      )}
    </div>
  </fieldset>`
}

/**
 * The only one, or the one that they chose or used last. With several and none used, or that one closed, none: whoever
 * only presses Allow must not give away an organization that they did not think of.
 */
function preselected<Organization extends Choosable>(
  organizations: readonly Organization[],
  id: string | null,
): Organization | undefined {
  const likely =
    organizations.length === 1
      ? organizations[0]
      : organizations.find((organization) => organization.id === id)
  return likely?.isOpen === false ? undefined : likely
}

/** Of many, the preselected one must not be below the edge of the list. */
const chosenFirst = <Organization>(all: readonly Organization[], chosen: Organization | undefined) =>
  chosen === undefined ? all : [chosen, ...all.filter((organization) => organization !== chosen)]
