/** Amounts that decide how much of a node a pod has: cores, GiB and GPUs. */
export interface Weighed {
  readonly cpu: number
  readonly memoryGib: number
  readonly gpus: number
}

/**
 * A core weighs as much as 8 GiB, and a GPU as much as 30 cores: about what they add to the price of a VM. The difference between Azure's D, E and F sizes
 * makes a core cost 8.8 GiB.
 */
const gibPerCore = 8
const coresPerGpu = 30

/** Returns the weight of what a pod requests or a node has. The share of a pod in its node's price is the quotient of the two. */
export function weightOf({ cpu, memoryGib, gpus }: Weighed): number {
  return cpu + memoryGib / gibPerCore + gpus * coresPerGpu
}
