package dev.taskhold;

import java.time.Duration;
import java.util.List;

/** Which work is wanted: {@code Claim.from("urgent", "reports").lease(Duration.ofMinutes(1))}. */
public final class Claim {
    private static final Duration LEASE = Duration.ofSeconds(30);

    private final JsonWriter claim = new JsonWriter();
    private Duration lease = LEASE;

    private Claim() {}

    /**
     * Begins with the queues. The worker has a name made of host and process, and the lease is of 30 seconds.
     *
     * @param queues 1 to 64 queues of the manager, each of 1 to 256 bytes, in strict order of preference
     * @return the claim
     */
    public static Claim from(String... queues) {
        return from(List.of(queues));
    }

    /**
     * Begins with the queues. The worker has a name made of host and process, and the lease is of 30 seconds.
     *
     * @param queues 1 to 64 queues of the manager, each of 1 to 256 bytes, in strict order of preference
     * @return the claim
     */
    public static Claim from(List<String> queues) {
        Claim made = new Claim();
        made.claim.texts("queues", queues);
        made.claim.text("worker", Worker.defaultName());
        return made;
    }

    /**
     * Names the worker.
     *
     * @param name 1 to 256 bytes, for operators
     * @return this claim
     */
    public Claim worker(String name) {
        claim.text("worker", name);
        return this;
    }

    /**
     * Says how long the lease is. It is renewed at a third of that; choose it above any pause or outage that is to be survived.
     *
     * @param length 1 millisecond to 24 hours
     * @return this claim
     */
    public Claim lease(Duration length) {
        lease = length;
        return this;
    }

    long leaseMs() {
        return Background.millis(lease);
    }

    /**
     * Writes the claim.
     *
     * @return a JSON object
     */
    public String toJson() {
        return claim.copy().number("leaseMs", leaseMs()).toString();
    }
}
