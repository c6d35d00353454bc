/** JMH benchmarks of the Java binding. */
@NullMarked
package dev.taskhold.bench;

import org.jspecify.annotations.NullMarked;
