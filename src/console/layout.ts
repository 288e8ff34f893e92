/** The layout of every page: skip link, header with the organization, side bar, footer. */
import { html } from 'hono/html'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { assetsUnder } from '../pages/assets.ts'
import { icon, mark } from '../pages/icons.ts'
import { brand, skeleton } from '../pages/skeleton.ts'
import { INBOX, navigationFor } from './navigation.ts'
import { initials, ROLE_LABELS } from './components.ts'
import { notice, type Content } from '../pages/parts.ts'
import { supportSessionBanner } from './support-session-banner.ts'
import { sessionOf, type PageContext } from './context.ts'
import { personalForm } from './forms.ts'

export const CONSOLE_ASSETS = assetsUnder('/console/assets')
type Page = { title: string; lead?: Content; actions?: Content; body: Content; status?: ContentfulStatusCode }

/** A page for somebody signed in. */
export function page(c: PageContext, { title, lead, actions, body, status = 200 }: Page) {
  const session = sessionOf(c)
  const { groups, current } = navigationFor(session, c.req.path)
  const place = session.organization?.name ?? 'svc'
  return c.html(
    skeleton(
      {
        title: title === place ? `${title} · svc` : `${title} · ${place}`,
        assets: CONSOLE_ASSETS,
        script: true,
      },
      html`<header class="top">
          <button type="button" class="button-bare menu-button" popovertarget="navigation" aria-label="Menu">${icon('menu')}</button>
          ${brand('/console')}
          ${organizationMenu(c)} ${session.organization && inboxLink(session.unread)} ${personMenu(c)}
        </header>
        <div class="frame">
          <nav id="navigation" popover class="side" aria-label="Main">
            <div class="side-head">
              ${mark()}
              <button type="button" class="button-bare" popovertarget="navigation" popovertargetaction="hide" aria-label="Close menu">${icon('close')}</button>
            </div>
            ${groups.map(
              ({ title, links }) => html`<div class="side-group">
                <p class="side-title" id="${groupId(title)}">${title}</p>
                <ul aria-labelledby="${groupId(title)}">
                  ${links.map(
                    ({ href, label, icon: name }) =>
                      html`<li><a href="${href}" ${href === current && html`aria-current="page"`}>${icon(name)}${label}</a></li>`,
                  )}
                </ul>
              </div>`,
            )}
          </nav>
          <main id="content" tabindex="-1">
            ${supportSessionBanner(c)}
            ${session.flash && notice(session.flash.kind, html`<p>${session.flash.text}</p>`)}
            <div class="page-head">
              <div>
                <h1>${title}</h1>
                ${lead && html`<p class="lead">${lead}</p>`}
              </div>
              ${actions && html`<div class="actions">${actions}</div>`}
            </div>
            ${body}
          </main>
        </div>
        ${footer(c)}`,
    ),
    status,
  )
}

const groupId = (title: string): string => `nav-${title.toLowerCase().replaceAll(' ', '-')}`

/** A page for somebody who is not, or not yet, signed in. */
export const outsidePage = (c: PageContext, { title, lead, body, status = 200 }: Page) =>
  c.html(
    skeleton(
      { title: `${title} · svc`, assets: CONSOLE_ASSETS, script: true },
      html`<main id="content" class="outside" tabindex="-1">
          ${brand('/console')}
          <h1>${title}</h1>
          ${lead && html`<p class="lead">${lead}</p>`} ${body}
        </main>
        ${footer(c)}`,
    ),
    status,
  )

/** In the header, so that it is visible on every page, also on a phone. */
async function inboxLink(unread: Promise<number>) {
  const count = await unread
  return html`<a class="button-bare top-inbox" href="${INBOX}">${icon('inbox')}<span class="unseen">Inbox</span>${count > 0 && html` <span class="count">${count > 99 ? '99+' : count}<span class="unseen"> unread</span></span>`}</a>`
}

function organizationMenu(c: PageContext) {
  const { organization, organizations } = sessionOf(c)
  if (!organization) return html`<span class="top-gap"></span>`
  return html`<span class="top-slash" aria-hidden="true">/</span>
    <details class="menu organization-menu">
      <summary><span class="menu-name">${organization.name}</span> ${icon('chevrons')} <span class="unseen">Switch organization</span></summary>
      <div class="menu-body">
        ${personalForm(
          c,
          '/console/organization',
          organizations.map(
            ({ id, name, role }) =>
              html`<button type="submit" name="org_id" value="${id}" class="menu-item" ${id === organization.id && html`aria-current="true"`}>
                <span class="menu-item-text"><span>${name}</span><span class="note">${ROLE_LABELS[role].label}</span></span>
                ${id === organization.id && icon('check')}
              </button>`,
          ),
          '',
        )}
        <a class="menu-item menu-item-last" href="/console/organizations">${icon('building')}All organizations</a>
        <a class="menu-item" href="/console/organizations/new">${icon('plus')}New organization</a>
      </div>
    </details>`
}

function personMenu(c: PageContext) {
  const { user } = sessionOf(c).me
  return html`<details class="menu person-menu">
    <summary><span class="avatar" aria-hidden="true">${initials(user.name)}</span> <span class="unseen">Account: ${user.name}</span></summary>
    <div class="menu-body">
      <p class="menu-about"><strong>${user.name}</strong><span class="note">${user.email}</span></p>
      ${sessionOf(c).organization && html`<a class="menu-item" href="/console/profile/notifications">${icon('bell')}Notifications</a>`}
      <a class="menu-item" href="/console/profile">${icon('person')}Profile settings</a>
      ${personalForm(c, '/console/sign-out', html`<button type="submit" class="menu-item">${icon('close')}Sign out</button>`, '')}
    </div>
  </details>`
}

const footer = (c: PageContext) => html`<footer class="foot"><span>svc ${c.var.deps.version}</span></footer>`
