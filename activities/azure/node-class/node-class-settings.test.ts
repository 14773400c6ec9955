import { goldenFunctions } from '../../../test/vectors/golden-functions.ts'
import { maxPodsOf } from './node-class-settings.ts'

goldenFunctions({
  maxPods: [
    11,
    (input: { networkPlugin: string; networkPluginMode: string; nodeClassMaxPods: number | null }) =>
      maxPodsOf(input.networkPlugin, input.networkPluginMode, input.nodeClassMaxPods ?? undefined),
  ],
})
