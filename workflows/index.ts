// Imported before the others, which create promises.
import './stack-traces.ts'

export { disruptionCommand } from './disruption-command.ts'
export { disruptionLoop } from './disruption-loop.ts'
export { disruptionPass } from './disruption-pass.ts'
export { maintenance } from './maintenance.ts'
export { nodeClaimLifecycle } from './node-claim-lifecycle.ts'
export { provisioningLoop } from './provisioning-loop.ts'
