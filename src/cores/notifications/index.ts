/** The face of the notifications core. */
export { markRead, readInbox, tell } from './inbox.ts'
export { recordEvent } from './record-event.ts'
export { changeState } from './alert-states.ts'
export type { FanOutNeeds } from './fan-out.ts'
export { takeIn } from './intake.ts'
export { reap } from './reap.ts'
export { createSender, type Sender, type SenderNeeds, type SenderOptions } from './sender.ts'
export type { Channels, ChatApp, ConnectionChecks, Outcome } from './channel.ts'
export type { ChatNeeds } from './chat-attempts.ts'
export { finishLink, readLink, startLink, unlink } from './chat-link.ts'
export { addChatWebhook, addWebhook } from './connect-address.ts'
export { addForum, setUpForum } from './connect-forum.ts'
export type { ConnectionNeeds } from './connections.ts'
export { chooseFollow, myFollows } from './follows.ts'
export { finishInstall, startInstall } from './install-chat.ts'
export { allConnections, dropConnection, reviseConnection, type ListNeeds } from './manage-connections.ts'
export {
  allSubscriptions,
  reviseSubscription,
  subscribe,
  trySubscription,
  unsubscribeConnection,
} from './manage-subscriptions.ts'
export { mySubscriptions, switchMine } from './my-subscriptions.ts'
export { preview } from './preview-pattern.ts'
export { oneDelivery, readLedger, summarizeLedger } from './read-ledger.ts'
export { replayMany, replayOne } from './replay.ts'
export { showWhatStops, stopMails } from './unsubscribe.ts'
