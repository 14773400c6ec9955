import * as fc from 'fast-check'

/** What the cases of laws follow from: the same in each run of `npm test`, so that a run fails for a change alone. `JOINER_TEST_SEED` names another. */
fc.configureGlobal({ seed: Number(process.env['JOINER_TEST_SEED'] ?? 1) })
