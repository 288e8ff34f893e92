/** The clothes every page wears: skip link, header with the organization, side bar, footer. */
import type { Context } from 'hono'
import { html } from 'hono/html'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { assetsUnder } from '../pages/assets.ts'
import { icon, mark } from '../pages/icons.ts'
import { brand, skeleton } from '../pages/skeleton.ts'
import { INBOX, navigationFor } from './navigation.ts'
import { personalForm, initials, ROLE_WORDS } from './parts.ts'
import { notice, type Content } from '../pages/parts.ts'
import { visitBanner } from './visit-banner.ts'
import { visitOf, type ConsoleEnv } from './visit.ts'

type C = Context<ConsoleEnv>

export const CONSOLE_ASSETS = assetsUnder('/console/assets')
type Page = { title: string; lead?: Content; actions?: Content; body: Content; status?: ContentfulStatusCode }

/** A page for somebody signed in. */
export function page(c: C, { title, lead, actions, body, status = 200 }: Page) {
  const visit = visitOf(c)
  const { groups, here } = navigationFor(visit, c.req.path)
  const place = visit.organization?.name ?? 'svc'
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
          ${organizationMenu(c)} ${visit.organization && inboxLink(visit.unread)} ${personMenu(c)}
        </header>
        <div class="frame">
          <nav id="navigation" popover class="side" aria-label="Main">
            <div class="side-head">
              ${mark()}
              <button type="button" class="button-bare" popovertarget="navigation" popovertargetaction="hide" aria-label="Close menu">${icon('close')}</button>
            </div>
            ${groups.map(
              ({ title, links }) => html`<div class="side-group">
                <p class="side-title" id="nav-${title.toLowerCase()}">${title}</p>
                <ul aria-labelledby="nav-${title.toLowerCase()}">
                  ${links.map(
                    ({ href, label, icon: name }) =>
                      html`<li><a href="${href}" ${href === here && html`aria-current="page"`}>${icon(name)}${label}</a></li>`,
                  )}
                </ul>
              </div>`,
            )}
          </nav>
          <main id="content" tabindex="-1">
            ${visitBanner(c)}
            ${visit.flash && notice(visit.flash.kind, html`<p>${visit.flash.text}</p>`)}
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

/** A page for somebody who is not, or not yet, signed in. */
export const outsidePage = (c: C, { title, lead, body, status = 200 }: Page) =>
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

/** In the header, where it is seen on every page and on a phone as well. */
async function inboxLink(unread: Promise<number>) {
  const count = await unread
  return html`<a class="button-bare top-inbox" href="${INBOX}">${icon('inbox')}<span class="unseen">Inbox</span>${count > 0 && html` <span class="count">${count > 99 ? '99+' : count}<span class="unseen"> unread</span></span>`}</a>`
}

function organizationMenu(c: C) {
  const { organization, organizations } = visitOf(c)
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
                <span class="menu-item-text"><span>${name}</span><span class="note">${ROLE_WORDS[role].label}</span></span>
                ${id === organization.id && icon('check')}
              </button>`,
          ),
        )}
        <a class="menu-item menu-item-last" href="/console/organizations">${icon('building')}All organizations</a>
        <a class="menu-item" href="/console/organizations/new">${icon('plus')}New organization</a>
      </div>
    </details>`
}

function personMenu(c: C) {
  const { user } = visitOf(c).me
  return html`<details class="menu person-menu">
    <summary><span class="avatar" aria-hidden="true">${initials(user.name)}</span> <span class="unseen">You: ${user.name}</span></summary>
    <div class="menu-body">
      <p class="menu-about"><strong>${user.name}</strong><span class="note">${user.email}</span></p>
      ${visitOf(c).organization && html`<a class="menu-item" href="/console/profile/notifications">${icon('bell')}What you follow</a>`}
      <a class="menu-item" href="/console/profile">${icon('person')}Profile and sessions</a>
      ${personalForm(c, '/console/sign-out', html`<button type="submit" class="menu-item">${icon('close')}Sign out</button>`)}
    </div>
  </details>`
}

const footer = (c: C) => html`<footer class="foot"><span>svc ${c.var.needs.version}</span></footer>`
