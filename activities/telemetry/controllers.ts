/** What upstream's controllers are called, for the activities and parts of maintenance that do the same work. */
const controllers: Readonly<Record<string, string>> = {
  launch: 'nodeclaim.lifecycle',
  observe: 'nodeclaim.lifecycle',
  awaitNode: 'nodeclaim.lifecycle',
  awaitInitialization: 'nodeclaim.lifecycle',
  giveUp: 'nodeclaim.lifecycle',
  writeHold: 'nodeclaim.lifecycle',
  findInstance: 'nodeclaim.lifecycle',
  forceFinish: 'nodeclaim.lifecycle',
  deleteInstance: 'nodeclaim.lifecycle',
  finalize: 'nodeclaim.lifecycle',
  drain: 'node.termination',
  garbage: 'nodeclaim.garbagecollection',
  taintIdleNodes: 'nodeclaim.garbagecollection',
  nextProvisioning: 'provisioner',
  disruptionPass: 'disruption',
  consolidateNow: 'disruption',
  commitDisruption: 'disruption',
  planDisruption: 'disruption',
  checkPlan: 'disruption',
  awaitReplacements: 'disruption.queue',
  deleteCandidates: 'disruption.queue',
  undoCommand: 'disruption.queue',
  nodeClasses: 'nodeclaim.disruption',
  inPlace: 'nodeclaim.inplaceupdate',
}

/** Activities that mostly wait for something to happen: their duration is not that of work. */
const waiting: ReadonlySet<string> = new Set([
  'launch',
  'awaitNode',
  'awaitInitialization',
  'awaitReplacements',
  'drain',
  'nextProvisioning',
  'disruptionPass',
  'commitDisruption',
])

/** Returns the name of upstream's controller for an activity; undefined where upstream has none. */
export function controllerOf(activity: string | undefined): string | undefined {
  return activity === undefined ? undefined : controllers[activity]
}

/** Returns whether an activity waits by design. */
export function isWaiting(activity: string): boolean {
  return waiting.has(activity)
}
