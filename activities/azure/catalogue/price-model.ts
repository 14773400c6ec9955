/** The part of a size that the price model reads. */
export interface PricedSize {
  readonly name: string
  /** The letter of its family, such as `D`. */
  readonly seriesFamily: string
  readonly arch: 'amd64' | 'arm64'
  readonly vCpus: number
  readonly memoryGib: number
  readonly gpus: number
  readonly gpuName?: string
}

/** USD an hour of a vCPU by the family's letter, without its memory. Rounded from the prices of such sizes. */
const ofVCpu: Readonly<Record<string, number>> = {
  A: 0.035,
  B: 0.022,
  D: 0.033,
  E: 0.03,
  F: 0.042,
  G: 0.2,
  H: 0.02,
  L: 0.05,
  M: 0.05,
  N: 0.03,
}
const ofAnyVCpu = 0.04
const ofGib = 0.0045
/** USD an hour of one GPU by its name in the size's; a value in between for one that the name does not give. */
const ofGpu: Readonly<Record<string, number>> = {
  A10: 0.1,
  A100: 2.2,
  GB200: 12,
  GB300: 14,
  H100: 7,
  H200: 9,
  RTXPRO6000BSE: 2.5,
  T4: 0.25,
  V710: 0.2,
}
const ofAnyGpu = 1.5
const arm64Share = 0.8
/** Share of the on-demand price for spot, about the middle of market prices. */
const spotShare = 0.25

/**
 * Estimates a size's price by its family and contents, in USD an hour. It is used only while no price list was ever read: it puts small before
 * large, Arm before x64 and spot before on-demand. So an unreachable price API does not keep a new cluster from scaling.
 */
export function modelledPrice(size: PricedSize, capacityType: 'spot' | 'on-demand'): number {
  const { seriesFamily, arch, vCpus, memoryGib, gpus, gpuName = '' } = size
  const machine = vCpus * (ofVCpu[seriesFamily] ?? ofAnyVCpu) + memoryGib * ofGib
  const price = machine * (arch === 'arm64' ? arm64Share : 1) + gpus * (ofGpu[gpuName] ?? ofAnyGpu)
  return Math.round(price * (capacityType === 'spot' ? spotShare : 1) * 100_000) / 100_000
}
