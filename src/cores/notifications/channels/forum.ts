/** A topic in the organization's forum. interface.md, Events 9: in the name of whoever acted, or of nobody. */
import { checkIntegration, refuseAll, routeAll, type ChannelDriver } from './channel-driver.ts'
import { forumPost } from './render.ts'

export const forum: ChannelDriver = {
  checkRecipient(deps, message) {
    const secret = checkIntegration(deps, message)
    if (typeof secret === 'string') return refuseAll(message, secret)
    const { url, apiKey } = secret
    const userId = message.deliveries[0]!.actorId
    if (userId === null) return refuseAll(message, 'no_acting_person')
    const category = message.integration?.config['category']
    if (apiKey === undefined || typeof category !== 'number') return refuseAll(message, 'integration_off')
    return routeAll([apiKey], ([item]) =>
      deps.channels.forum({
        orgId: message.orgId,
        messageId: message.id,
        url,
        apiKey,
        category,
        userId,
        ...forumPost(item!, deps.appUrl),
      }),
    )
  },
}
