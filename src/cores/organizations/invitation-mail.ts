/**
 * The mail of an invitation. It goes to people who do not know us, so nothing in it is free text: names are reduced to what
 * no mail program turns into a link, and cut.
 */
import type { Message } from '../dependencies.ts'

export const invitationMail = (invitation: {
  to: string
  organization: string
  /** Null: the operator. */
  inviter: string | null
  role: string
  link: string
}): Message => {
  const organization = nameInMail(invitation.organization)
  const inviter = invitation.inviter === null ? 'The operator of svc' : `“${nameInMail(invitation.inviter)}”`
  return {
    to: invitation.to,
    subject: `Join “${organization}” on svc`,
    text: [
      `${inviter} invites you to “${organization}” as ${invitation.role}. We have not verified these names.`,
      `Open this link within seven days to join:`,
      invitation.link,
      `If you do not know what this is about, do nothing: the link expires by itself.`,
    ].join('\n\n'),
  }
}

const NAME_MAX = 40
/** Dots, slashes, colons and at signs make addresses; dot-like characters of other scripts do so too. */
const NOT_IN_NAMES = /[^\p{L}\p{M}\p{N} '’&,()-]/gu
/** Seven digits or more are a phone number, which mail programs offer to call. */
const PHONE_NUMBER = /\p{N}(?:[ ,()-]*\p{N}){6,}/gu

export function nameInMail(name: string): string {
  const plain = name
    .normalize('NFKC')
    .replaceAll(NOT_IN_NAMES, ' ')
    .replaceAll(PHONE_NUMBER, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
  const characters = [...new Intl.Segmenter().segment(plain)].map(({ segment }) => segment)
  const cut = characters.length > NAME_MAX ? `${characters.slice(0, NAME_MAX).join('').trim()}…` : plain
  return cut || 'unnamed'
}
