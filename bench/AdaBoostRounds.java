import java.io.BufferedReader;
import java.io.FileReader;
import java.io.InputStreamReader;
import weka.classifiers.meta.AdaBoostM1;
import weka.classifiers.trees.J48;
import weka.core.Instances;

/** Boosts J48 once for every line on standard input, after a warm-up: AdaBoostRounds FILE.arff ROUNDS. */
public class AdaBoostRounds {
  public static void main(String[] arguments) throws Exception {
    Instances data = new Instances(new BufferedReader(new FileReader(arguments[0])));
    data.setClassIndex(data.numAttributes() - 1);
    int rounds = Integer.parseInt(arguments[1]);
    boost(data, rounds);
    BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
    System.out.println("ready");
    while (orders.readLine() != null) {
      boost(data, rounds);
      System.out.println("done");
    }
  }

  private static void boost(Instances data, int rounds) throws Exception {
    AdaBoostM1 booster = new AdaBoostM1();
    booster.setClassifier(new J48());
    booster.setNumIterations(rounds);
    booster.buildClassifier(data);
  }
}
