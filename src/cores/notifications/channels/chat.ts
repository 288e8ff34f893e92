/** A line in a chat channel, by its incoming webhook. */
import { checkIntegration, refuseAll, routeAll, type ChannelDriver } from './channel-driver.ts'
import { chatText } from './render.ts'

export const chat: ChannelDriver = {
  checkRecipient(deps, message) {
    const secret = checkIntegration(deps, message)
    if (typeof secret === 'string') return refuseAll(message, secret)
    return routeAll([secret.url], (items) =>
      deps.channels.chat({ orgId: message.orgId, url: secret.url, text: chatText(items, deps.appUrl) }),
    )
  },
}
