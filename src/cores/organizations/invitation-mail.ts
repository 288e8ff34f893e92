/** The mail of an invitation. It goes to people who do not know us, so nothing in it is free text. */
import type { Message } from '../dependencies.ts'
import { composeMail } from '../mail-template.ts'
import { nameInMail } from '../mail-text.ts'

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
  const subject = `Join “${organization}” on svc`
  return {
    to: invitation.to,
    ...composeMail({
      subject,
      heading: subject,
      parts: [
        {
          text: `${inviter} invites you to “${organization}” as ${invitation.role}. We have not verified these names.`,
        },
        { text: 'Open this link within seven days to join:' },
        { button: 'Join', url: invitation.link },
      ],
      footer: 'If you do not know what this is about, do nothing: the link expires by itself.',
    }),
  }
}
