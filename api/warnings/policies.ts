import { maxNodeClassName } from '../../core/node-claim/node-names.ts'
import { nodePools } from './node-pools.ts'
import { otherProviders } from './other-providers.ts'
import type { WarningPolicy } from './policy.ts'

const nodeClasses: WarningPolicy = {
  name: 'joiner-aksnodeclasses',
  about: [{ apiGroup: 'karpenter.azure.com', apiVersions: ['v1beta1', 'v1alpha2'], kind: 'AKSNodeClass' }],
  warnings: [
    {
      because: 'notReady',
      holds: `!has(object.metadata.name) || object.metadata.name.size() <= ${maxNodeClassName}`,
      message: `'metadata.name has ' + string(object.metadata.name.size()) + ' characters, which no label can have as its value, so the AKSNodeClass will not become ready; use at most ${maxNodeClassName}'`,
    },
    {
      because: 'notReady',
      holds: "!has(object.spec) || !has(object.spec.fipsMode) || object.spec.fipsMode != 'FIPS'",
      message:
        "'spec.fipsMode FIPS: its images are in shared galleries only, so the AKSNodeClass will not become ready without USE_SIG; set azure.sharedGallery of the chart'",
      unlessChartValue: '.Values.azure.sharedGallery.enabled',
    },
  ],
}

const unread: WarningPolicy = {
  name: 'joiner-unread',
  about: [
    { apiGroup: 'karpenter.sh', apiVersions: ['*'], kind: 'NodeOverlay' },
    { apiGroup: 'autoscaling.x-k8s.io', apiVersions: ['*'], kind: 'CapacityBuffer' },
  ],
  warnings: [
    {
      because: 'noEffect',
      holds: "object.kind != 'NodeOverlay'",
      message:
        "'kind NodeOverlay, metadata.name ' + object.metadata.name + ': the gate NodeOverlay is off, so it has no effect; set settings.featureGates.nodeOverlay of the chart'",
      unlessChartValue: '(include "joiner.hasGate" (list . "NodeOverlay"))',
    },
    {
      because: 'noEffect',
      holds: "object.kind != 'CapacityBuffer'",
      message:
        "'kind CapacityBuffer, metadata.name ' + object.metadata.name + ': the gate CapacityBuffer is off, so it has no effect; set settings.featureGates.capacityBuffer of the chart'",
      unlessChartValue: '(include "joiner.hasGate" (list . "CapacityBuffer"))',
    },
  ],
}

export const warningPolicies: readonly WarningPolicy[] = [nodePools, otherProviders, nodeClasses, unread]
