package dev.taskhold;

import java.util.Locale;

/** Where queued work stands. */
public enum WorkState {
    /** It may be claimed later. */
    SCHEDULED,
    /** It may be claimed. */
    READY,
    /** A worker has it. */
    LEASED,
    /** It waits for answers of its client, and no worker has it. */
    PARKED;

    String wireName() {
        return name().toLowerCase(Locale.ROOT);
    }
}
