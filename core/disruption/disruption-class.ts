/** Reason for a node's disruption, as budgets and the condition DisruptionReason name it. */
export type DisruptionReason = 'Unhealthy' | 'Empty' | 'Drifted' | 'Underutilized'

/**
 * How a method treats pods that must not be disrupted. `graceful`: it waits for each of them. `eventual`: a terminationGracePeriod of the node
 * overrules them. `repair`: the node is sick, so that the bound of its repair overrules them, and it need not be initialized
 * (reference/karpenter-1.15.md 4.2).
 */
export type DisruptionClass = 'graceful' | 'eventual' | 'repair'
